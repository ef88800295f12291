"""Reading: the words of a language turned back into what they claim, by the same files that captions are worded from."""

from posegen.captions.reading.claims import as_told, same_claims
from posegen.captions.reading.lexicon import lexicon_of
from posegen.captions.reading.read import Reading, Unknown, read_caption

__all__ = ["Reading", "Unknown", "as_told", "lexicon_of", "read_caption", "same_claims"]
