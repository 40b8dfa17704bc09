// Package confidential says which values of a repository may be secret, and keeps
// them out of texts.
//
// Errors of libraries quote what they could not read, and charts compose the text
// of an error from values. Values therefore collects what the inputs of a failed
// step hold, and Redact takes it out of what the step says. A value is kept back
// where its name or its place says that it is secret, and elsewhere unless it looks
// like a name, a version, an address or a quantity. A value that is kept back
// without need costs a look at the file. One that is told cannot be taken back.
package confidential
