// Package repofs reads the files of a platform repository and nothing else: a
// path or symbolic link that leaves the repository is refused.
//
// Paths are slash-separated and relative to the root of the platform. The root
// may lie below the top of the repository; "../" is fine as long as the path
// stays inside the repository.
package repofs
