//! When an invocation ends, as the platform says it.

use lambda_runtime::Context;
use pudu_app::deadline::Deadline;
use pudu_domain::Timestamp;

/// The deadline of the invocation.
pub const fn of(context: &Context) -> Deadline {
    Deadline::at(Timestamp::from_millis(context.deadline))
}
