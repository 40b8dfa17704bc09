// Package infer derives the edges of a platform: what each component requires
// of others, declared in descriptors or read from rendered objects, always with
// evidence.
package infer
