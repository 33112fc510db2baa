"""From evidence to a verdict: what each case shows, the grade that follows, and the words that explain it. No I/O."""
