"""Quality of retrieval: nDCG of each ranker on a labelled collection."""
