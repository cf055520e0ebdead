//! Every identifier, plural and label.
