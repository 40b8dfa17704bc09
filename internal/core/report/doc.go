// Package report turns the model into what people and machines read: text,
// Markdown, JSON, pictures. Every function takes a model and writes to an
// io.Writer; none reads files or a clock.
package report
