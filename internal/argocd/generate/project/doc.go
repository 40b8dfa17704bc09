// Package project makes the AppProjects of a platform: of each the least that
// what is rendered into its Applications needs. Sources are exact addresses,
// destinations exact namespaces, kinds those that are rendered, hooks included.
//
// What cannot be rendered cannot be counted: Build says which Applications that
// is, and guesses nothing for them.
package project
