package apiserver

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

func TestThePathHasTheScopeOfTheResource(t *testing.T) {
	for _, c := range []struct {
		scope           apiextensions.ResourceScope
		namespace, name string
		verb            string
		fits            bool
	}{
		{apiextensions.ClusterScoped, "", "a", "get", true},
		{apiextensions.ClusterScoped, "", "", "create", true},
		{apiextensions.ClusterScoped, "mine", "a", "get", false},
		{apiextensions.ClusterScoped, "mine", "a", "delete", false},
		{apiextensions.ClusterScoped, "mine", "", "list", false},
		{apiextensions.NamespaceScoped, "mine", "a", "get", true},
		{apiextensions.NamespaceScoped, "mine", "", "list", true},
		{apiextensions.NamespaceScoped, "", "", "list", true},
		{apiextensions.NamespaceScoped, "", "", "watch", true},
		{apiextensions.NamespaceScoped, "", "a", "get", false},
		{apiextensions.NamespaceScoped, "", "", "create", false},
		{apiextensions.NamespaceScoped, "", "", "deletecollection", false},
	} {
		info := &apirequest.RequestInfo{Namespace: c.namespace, Name: c.name, Verb: c.verb}
		if scopeFits(c.scope, info) != c.fits {
			t.Errorf("%+v", c)
		}
	}
}
