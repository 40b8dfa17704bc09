// Package script evaluates what says how healthy an object is: health scripts in
// Lua, and the settings of Argo CD that hold such scripts.
//
// The functions are pure, and bounded by whoever calls them: those of a repository
// run in a confined worker, by way of package evaluate, which limits their time and
// memory.
package script
