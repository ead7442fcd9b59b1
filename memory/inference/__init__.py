"""Runs the models: embedder, reranker, their batching and their device."""
