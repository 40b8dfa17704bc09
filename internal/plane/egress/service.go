package egress

import (
	"net"
	"strconv"
	"strings"
)

// Service is the Service a connection is for.
type Service struct {
	Namespace string
	Name      string
	Port      int32
}

// Host is the address that the plane's API server dials for a Service:
// "name.namespace.svc:port".
func (s Service) Host() string {
	return net.JoinHostPort(s.Name+"."+s.Namespace+".svc", strconv.Itoa(int(s.Port)))
}

// ParseService reads the address that WebhookBackend.Dial is given. It is false
// for hosts that are no Service of the cluster. "name.namespace.svc",
// "name.namespace.svc.cluster.local" and the trailing dot are all accepted, as
// cluster DNS does.
func ParseService(host string) (Service, bool) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return Service{}, false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return Service{}, false
	}
	name = strings.TrimSuffix(name, ".")
	name = strings.TrimSuffix(name, ".cluster.local")
	labels := strings.Split(name, ".")
	if len(labels) != 3 || labels[2] != "svc" || labels[0] == "" || labels[1] == "" {
		return Service{}, false
	}
	return Service{Namespace: labels[1], Name: labels[0], Port: int32(number)}, true
}
