// Package importer turns what other tools order into platforms of descriptors.
//
// An importer (FromHelmfile, FromFlux, FromArgoCD) makes a Platform: components
// per environment with their edges, layers of values, and Notes on what could not
// be carried over. Place gives every component its phase, so that each stands
// after everything it requires; Files are the descriptors and ladder.yaml; Write
// writes them all or not at all. Waves rewrites the older labels of a repository
// to phases in place, and Scaffold makes one new component.
//
// Nothing is guessed: what cannot be known from the files (environment variables,
// encrypted values, commands) is a Note with its file and line. Values of Secrets
// and encrypted files never appear in a Note.
package importer
