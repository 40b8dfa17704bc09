// Package examples holds the tests of the example platforms.
package examples
