// Package infer finds what every object of a platform requires and which object
// provides it, declared in descriptors or read from rendered objects, always with
// evidence: dependencies between objects, what is missing, and the edges between
// components that follow.
//
// What a family of capabilities provides and requires is in a file of its own
// (namespaces.go, secrets.go, webhooks.go, ...); families.go lists those that look
// at one object at a time. A family says what an object provides and what it
// needs; the index then finds the provider. Controllers, webhooks and the binding
// of claims look at several objects. What is lacking in a thing that is there, a key or
// a listener, is in contents.go. Of charts that are not rendered, a catalogue
// may know what they provide (known.go), and their values what they read.
//
// The rule for every family is that it must be certain: a field whose meaning
// is not known, or a provider that is not in the repository, gives no dependency;
// where one of several providers comes in time, it is the one. Nothing is read or
// parsed here for the sake of lines: evidence has those of objects, and
// manifest.Lines finds those of fields for what is printed.
package infer
