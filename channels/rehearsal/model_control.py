"""The control interface of the model server: what it answers next, what goes wrong, what came."""

from __future__ import annotations

from channels.fields import objects_of
from channels.rehearsal.control import ControlRoutes, Verb
from channels.rehearsal.model_answers import Recorded, scripted_from_json, verdict_from_json
from channels.rehearsal.model_core import ModelCore
from geode.messages import JsonObject, JsonValue


class ModelControl(ControlRoutes):
    """The verbs of this stand-in."""

    def __init__(self, model: ModelCore) -> None:
        self._model = model
        verbs: dict[str, Verb] = {
            "script": self._script,
            "verdicts": self._verdicts,
            "requests": self._requests,
            "judged": self._judged,
        }
        super().__init__(model, verbs)

    def _script(self, asked: JsonObject) -> JsonObject:
        """Queue answers: blocks with a stop reason, or a status with a kind and a message."""
        self._model.script += [scripted_from_json(one) for one in objects_of(asked, "answers")]
        return {"waiting": len(self._model.script)}

    def _verdicts(self, asked: JsonObject) -> JsonObject:
        """Queue what judges are answered: the same forms, or misses with the rest of a verdict."""
        self._model.verdicts += [verdict_from_json(one) for one in objects_of(asked, "answers")]
        return {"waiting": len(self._model.verdicts)}

    def _requests(self, asked: JsonObject) -> JsonObject:
        return {"requests": _list_records(self._model.requests)}

    def _judged(self, asked: JsonObject) -> JsonObject:
        return {"requests": _list_records(self._model.judged)}


def _list_records(records: list[Recorded]) -> list[JsonValue]:
    return [{"endpoint": one.endpoint, "body": one.body} for one in records]
