//! Scheduled: the cancel lane, the poll lane and the recovery of intents.
