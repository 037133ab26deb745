"""Chroma over given vectors: `python chroma_vectors.py VECTORS.npy FOLDER`, in Chroma's own
environment. Answers each line that comes in, the JSON list of a vector, with the milliseconds it
took and the ten nearest.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ["ANONYMIZED_TELEMETRY"] = "False"

import chromadb  # type: ignore[import-not-found, unused-ignore]
import numpy as np


def main(file: str, folder: str) -> None:
    vectors = np.load(file)
    client = chromadb.PersistentClient(path=folder)
    collection = client.get_or_create_collection(
        "vectors", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    batch = client.get_max_batch_size()
    for start in range(0, len(vectors), batch):
        some = vectors[start : start + batch]
        places = range(start, start + len(some))
        collection.add(
            ids=[str(place) for place in places],
            documents=[f"record {place}" for place in places],
            embeddings=some,
        )
    print(json.dumps({"version": chromadb.__version__}), flush=True)
    for line in sys.stdin:
        asked = np.array(json.loads(line), dtype=np.float32)
        begin = time.perf_counter()
        found = collection.query(query_embeddings=[asked], n_results=10, include=["documents"])
        took_ms = (time.perf_counter() - begin) * 1e3
        print(json.dumps({"ms": took_ms, "found": list(map(int, found["ids"][0]))}), flush=True)


main(*sys.argv[1:])
