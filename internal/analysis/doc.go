// Package analysis reads a platform whole: intake, then render, then infer.
//
// What is remote is fetched unless that is forbidden. What cannot be had is not
// guessed: the component is listed as not rendered, what else of it can be
// rendered is kept apart, and the catalogue says what is known of its chart. A
// host that could not be reached once is not asked again.
package analysis
