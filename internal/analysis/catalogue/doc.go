// Package catalogue knows what common charts and manifests provide, for
// components that cannot be rendered.
//
// An entry says of a chart, or of manifests at an address, which CRDs it brings,
// which kinds its operator reconciles, which webhooks it registers, what it
// makes, and under which values. Every entry names the version it was read from
// and the files it was read in.
//
// The data is embedded: data/generated is written by the generate command from
// facts and CRDs that were read in the published charts; data/added holds what
// was written by hand, or recorded from a render. A file is named after its
// chart, or after a set of CRDs that several charts share. An entry of
// data/added with the name and a repository of a generated one replaces the fields
// it has and leaves the others, and adds to its repositories and sources; any
// other entry stands beside it. Entries of the user come before both.
//
// What an entry says about values is decided with the values of the component.
// Where these are not known whole, nothing is claimed that they could turn off.
package catalogue
