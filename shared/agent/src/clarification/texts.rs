//! What is said about questions.

/// Why a model asks, with the sign that stands before the question.
pub(super) const KINDS: [(&str, &str); 5] = [
    ("missing_info", "❓"),
    ("ambiguous_requirement", "🤔"),
    ("approach_choice", "🔀"),
    ("risk_confirmation", "⚠️"),
    ("suggestion", "💡"),
];

/// The part of the system's message.
pub(super) const SECTION: &str = "\
<clarification_system>
Ask with `ask_clarification` before you begin, when the answer decides what you do: something is missing that you cannot find out, \
the request can be read in ways that lead to different work, there are ways that the user would want to choose between, or a step \
cannot be undone. Ask one thing, and call nothing else beside it: your turn ends with the question. Do not ask what you can look up, \
what was answered before, or whether you may do what you were asked to do.
</clarification_system>";

/// The answer where nobody is there.
pub(super) const NOBODY: &str = "Nobody can be asked in this run. Go on with the most reasonable assumption, and say in your answer \
which one that was.";
