mod begins;
mod ends;
mod limits;
