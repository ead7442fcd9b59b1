"""The control tokens of chat templates, by family, with where each is written down.

A tokenizer that is not told otherwise turns these strings into the tokens that end a message or
begin another in the system's voice. `FAMILIES` is the whole list, and tests walk through it;
`PATTERNS` is how quotation finds them, and what is written like them. Each pattern matches exactly
the first character of a marker and looks at a bounded number of those that follow.
"""
# ruff: noqa: RUF001 - the tokens are written so

import re
from collections.abc import Mapping
from html.entities import html5
from types import MappingProxyType

# Sources: the `tokenizer_config.json` or chat template that a model of the family is published
# with, and the page named beside it.
FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        # OpenAI's ChatML; Qwen (tokenizer_config.json of Qwen2.5 and Qwen3), Yi, InternLM.
        "chatml": "<|im_start|> <|im_end|> <|im_sep|> <|endoftext|> <|endofprompt|>"
        " <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|vision_start|> <|image_pad|>"
        " <tool_call> </tool_call> <tool_response> </tool_response> <think> </think>"
        " <|plugin|> <|interpreter|>",
        # gpt-oss: openai/openai-cookbook, articles/openai-harmony.md.
        "harmony": "<|start|> <|end|> <|message|> <|channel|> <|constrain|> <|return|> <|call|>"
        " <|startoftext|> <|reserved_200000|>",
        # Llama 2: meta-llama/llama, llama/generation.py.
        "llama2": "[INST] [/INST] <<SYS>> <</SYS>> <s> </s> <unk>",
        # Llama 3 and 4: meta-llama/llama-models, prompt formats.
        "llama3": "<|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|>"
        " <|eot_id|> <|eom_id|> <|python_tag|> <|finetune_right_pad_id|>"
        " <|reserved_special_token_0|> <|header_start|> <|header_end|> <|eot|> <|eom|> <|image|>",
        # Mistral: mistralai/mistral-common (SpecialTokens), mistralai/cookbook, tokenization.
        "mistral": "[INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS]"
        " [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] [TOOL_CONTENT] [ARGS]"
        " [CALL_ID] [THINK] [/THINK] [MODEL_SETTINGS] [/MODEL_SETTINGS] [PREFIX] [MIDDLE] [SUFFIX]"
        " [IMG] [IMG_BREAK] [IMG_END] [AUDIO] [BEGIN_AUDIO] <s> </s> [BOS] [EOS] <pad>",
        # Gemma 1 to 3: ai.google.dev/gemma/docs/formatting.
        "gemma": "<start_of_turn> <end_of_turn> <bos> <eos> <pad> <mask> <unused0>"
        " <start_of_image> <end_of_image> <image_soft_token>",
        # Gemma 4: ai.google.dev/gemma/docs/core/prompt-formatting-gemma4.
        "gemma4": "<|turn> <turn|> <|tool> <tool|> <|tool_call> <tool_call|> <|tool_response>"
        " <tool_response|> <|channel> <channel|> <|image> <image|> <|audio> <audio|> <|think|>"
        ' <|"|>',
        # Phi-3 and Phi-4: chat templates of microsoft/Phi-3-mini-4k-instruct and microsoft/phi-4.
        "phi": "<|system|> <|user|> <|assistant|> <|end|> <|tool|> <|/tool|> <|tool_call|>"
        " <|placeholder1|> <|dummy_0|>",
        # DeepSeek V2 to R1: tokenizer_config.json; bars and low lines are U+FF5C and U+2581.
        "deepseek": "<｜begin▁of▁sentence｜> <｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜>"
        " <｜tool▁calls▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <｜fim▁hole｜> <|EOT|>",
        # Cohere's Command R and Aya: tokenizer_config.json of c4ai-command-r-v01.
        "command-r": "<|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|> <|SYSTEM_TOKEN|>"
        " <|USER_TOKEN|> <|CHATBOT_TOKEN|> <|START_THINKING|> <|START_ACTION|> <|START_RESPONSE|>"
        " <BOS_TOKEN> <EOS_TOKEN> <EOP_TOKEN> <MASK_TOKEN> <PAD> <UNK> <CLS> <SEP>",
        # IBM Granite 3 and 4: tokenizer_config.json.
        "granite": "<|start_of_role|> <|end_of_role|> <|end_of_text|> <|tool_call|>"
        " <|start_of_cite|> <|end_of_cite|> <|start_of_plugin|> <|end_of_plugin|>",
        # GLM-4 (THUDM/glm-4-9b-chat) and BERT-like tokenizers; GLM-4.6: ggml-org/llama.cpp,
        # models/templates/GLM-4.6.jinja.
        "glm": "<arg_key> </arg_key> <arg_value> </arg_value> <tool_call> </tool_call>"
        " [gMASK] [sMASK] <sop> <eop> <|observation|> [MASK] [CLS] [SEP] [PAD] [UNK]",
        # MiniMax M2: ggml-org/llama.cpp, models/templates/unsloth-MiniMax-M2.jinja.
        "minimax": "]~!b[ ]~b] [e~[ <minimax:tool_call> </minimax:tool_call>",
        # Seed-OSS: ggml-org/llama.cpp, models/templates/ByteDance-Seed-OSS.jinja. Qwen3-Coder
        # calls functions the same way.
        "seed": "<seed:bos> <seed:eos> <seed:pad> <seed:think> </seed:think> <seed:tool_call>"
        " </seed:tool_call> <seed:cot_budget_reflect> </seed:cot_budget_reflect> <function=name>"
        " </function> <parameter=name> </parameter>",
        # Ling: ggml-org/llama.cpp, src/llama-chat.cpp (bailing).
        "ling": "<role> </role> <|role_end|>",
        # LongCat-Flash: vllm-project/vllm, longcat_tool_parser.py; README of
        # meituan-longcat/LongCat-Flash-Thinking-2601.
        "longcat": "<longcat_tool_call> </longcat_tool_call> <longcat_think> </longcat_think>"
        " <longcat_system> <longcat_user> <longcat_assistant> <longcat_s> </longcat_s>",
        # Falcon, MPT, StarCoder, Zephyr and OLMo.
        "others": ">>QUESTION<< <|prompter|> <fim_prefix> <fim_suffix> <fim_middle> <file_sep>"
        " <|endoftext|> <|padding|> <reponame> <gh_stars> <|extra_0|>",
        # Tags that agents' frameworks put around turns and tools (Anthropic, Hermes, ReAct).
        "frames": "<system> </system> <assistant> </assistant> <user> </user> <human> </human>"
        " <instructions> </instructions> <function_calls> <function_results> <invoke> <tool_result>"
        " <scratchpad> <documents> <context> <guideline> </guideline> <memory> </memory>"
        " <system-reminder> <developer> <tools> </tools> <answer> <thinking> </thinking>",
        # SentencePiece falls back to bytes (google/sentencepiece, byte_fallback).
        "bytes": "<0x0A> <0x3C> <0xC2> <0xBB>",
    }
)


def tokens() -> frozenset[str]:
    """Every token of every family."""
    return frozenset(token for family in FAMILIES.values() for token in family.split())


def _in_angles() -> str:
    """Names of the plain `<name>` tokens, a number at their end left open."""
    named = {
        token.strip("</>").lower()
        for token in tokens()
        if token[0] == "<" and token[1] not in "<|｜0"
    }
    return "|".join(sorted((_numbered(one) for one in named), key=len))


def _numbered(name: str) -> str:
    stem = name.rstrip("0123456789")
    return re.escape(stem) + (r"\d{1,6}" if stem != name else "")


def _in_squares() -> str:
    return "|".join(
        sorted(
            {re.escape(token.strip("[/]")) for token in tokens() if token[0] + token[-1] == "[]"}
        )
    )


# Tags that a browser acts on; `<div>`, `<T>` and `<stdio.h>` are left to code.
_ACTIVE = (
    "a|applet|area|audio|base|body|button|details|dialog|embed|form|frame|frameset|head|html|"
    "iframe|image|img|input|link|marquee|math|meta|object|picture|script|select|source|style|svg|"
    "template|textarea|title|track|video|xml"
)


# Lower-case words such as `df[mask]` are code; these are read as tokens however they are written.
_ANY_CASE = "inst|system_prompt|available_tools|tool_results|tool_calls|tool_content|model_settings"


_ENTITIES = "|".join(
    sorted({re.escape(name[:-1]) for name in html5 if name.endswith(";")}, key=len)
)


PATTERNS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        # <|…|> of all families; `a |> f` and `f <| a` are operators.
        (r"<(?=\|/?\w)", re.NOFLAG),
        (rf"<(?=\s?/?\s?(?:{_in_angles()})\s?/?>)", re.IGNORECASE),
        # <…|> of Gemma 4, and its quotation mark.
        (r"<(?=\w{1,40}\|>|\|\"\|>)", re.NOFLAG),
        # Names that a family begins alike, and calls that are named behind an equals sign.
        (r"<(?=\s?/?\s?(?:minimax:|seed:|longcat_)\w)", re.IGNORECASE),
        (r"<(?=\s?(?:function|parameter)\s?=)", re.IGNORECASE),
        # MiniMax.
        (r"\](?=~b\]|~!b\[)|\[(?=e~\[)", re.NOFLAG),
        (r"<(?=<\s?/?\s?sys\s?>)", re.IGNORECASE),
        (r"<(?=0x[0-9a-f]{2}>)", re.IGNORECASE),
        (r">(?=>(?:QUESTION|ANSWER|INTRODUCTION|SUMMARY|TITLE|ABSTRACT)<<)", re.NOFLAG),
        (rf"\[(?=\s{{0,4}}/?\s{{0,4}}(?:{_in_squares()})\s{{0,4}}\])", re.NOFLAG),
        (rf"\[(?=\s{{0,4}}/?\s{{0,4}}(?:{_ANY_CASE})\s{{0,4}}\])", re.IGNORECASE),
        # HTML: active tags, any tag with an attribute, comments.
        (rf"<(?=/?(?:{_ACTIVE})(?![\w-]))", re.IGNORECASE),
        (r"<(?=[a-z][\w-]{0,40}\s[^<>\n]{0,200}=)", re.IGNORECASE),
        (r"<(?=!(?:--|\[|doctype))", re.IGNORECASE),
        # Character references, those that need no semicolon too.
        (r"&(?=#(?:\d{1,8}|x[0-9a-f]{1,6}))", re.IGNORECASE),
        (rf"&(?=(?:{_ENTITIES});)", re.NOFLAG),
        (r"&(?=(?:lt|gt|laquo|raquo))", re.IGNORECASE),
    )
)
"""Find the first character of what a tokenizer or a renderer would act on."""
