"""One adapter per provider route; each imports its SDK only when it is used."""
