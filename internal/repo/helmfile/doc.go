// Package helmfile reads Helmfile's state files into releases, per environment:
// helmfile.yaml, helmfile.yaml.gotmpl, the files of helmfile.d, the files that
// helmfiles: names, bases, environments with their values, and templates of
// releases.
//
// Templates are evaluated as far as the files tell: no command is run, no
// variable of the environment is read, nothing is decrypted and nothing is
// fetched. What depends on any of these is unknown. A field that is unknown is
// left out and told with its file and line; where an unknown value decides what
// there is (the condition of an if, the list of a range), the whole file is told
// to be unreadable. Nothing is guessed.
//
// Templates may loop and grow as they like, so that Load runs in a confined worker
// (package evaluate), which asks for the files. A file that takes more than the
// worker has is told and left out.
//
// Source of the format: Helmfile 1.x, https://helmfile.readthedocs.io, and its
// packages state, app and tmpl. Files that only parse as templates are read as
// Helmfile before 1.0 reads them.
package helmfile
