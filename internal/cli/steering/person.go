package steering

import (
	"os"
	"os/user"
)

// Person names who steers, as this machine knows them.
func Person() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
