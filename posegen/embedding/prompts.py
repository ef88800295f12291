"""Prompts: what a model wants to stand before texts, as its own files say, or as its makers do where the files are silent."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["prompts_of"]

_SEARCHED = ("document", "passage", "corpus")
_SEARCHING = ("query",)

_TOLD = {
    # huggingface.co/intfloat/e5-base-v2: "Each input text should start with 'query: ' or 'passage: '."
    "e5": ("passage: ", "query: "),
    # huggingface.co/BAAI/bge-large-en-v1.5: an instruction for short queries, none for passages.
    "bge-en": ("", "Represent this sentence for searching relevant passages: "),
}


def prompts_of(name: str, own: Mapping[str, str], default: str | None) -> tuple[str, str]:
    """Find the prompts of a model.

    Parameters
    ----------
    name : str
    own : mapping of str to str
        Those in its files, by name.
    default : str or None
        Name of the one among them that stands before all texts.

    Returns
    -------
    (str, str)
        Before texts that are searched, such as captions, and before those that are searched for.

    Examples
    --------
    >>> prompts_of("intfloat/e5-base-v2", {"query": "", "document": ""}, None)
    ('passage: ', 'query: ')
    >>> prompts_of("all-MiniLM-L6-v2", {}, None)
    ('', '')
    """
    if any(own.values()):
        always = own.get(default or "", "")
        searched = next((own[key] for key in _SEARCHED if key in own), always)
        return searched, next((own[key] for key in _SEARCHING if key in own), always)
    return _TOLD.get(_family(name), ("", ""))


def _family(name: str) -> str:
    short = name.rpartition("/")[2].lower()
    if short.startswith(("e5-", "multilingual-e5-")) and "instruct" not in short:
        return "e5"
    return "bge-en" if short.startswith("bge-") and "-en" in short else ""
