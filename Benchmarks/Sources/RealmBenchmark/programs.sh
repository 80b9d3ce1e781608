#!/usr/bin/env bash
# The floor: runs only the programs, one after the other, from an empty directory to a ticket, and prints the seconds.
set -euo pipefail
folder=$(mktemp -d)
kdc=
trap '[ -z "$kdc" ] || kill "$kdc" 2>/dev/null; rm -rf "$folder"' EXIT
PATH=$PATH:/usr/sbin:/sbin
port=47090
export KRB5_CONFIG=$folder/krb5.conf KRB5_KDC_PROFILE=$folder/kdc.conf KRB5CCNAME=FILE:$folder/ccache KRB5_KTNAME=FILE:$folder/keytab
start=$EPOCHREALTIME
cat >"$KRB5_CONFIG" <<END
[libdefaults]
    default_realm = EXAMPLE.TEST
    dns_lookup_kdc = false
    udp_preference_limit = 1
[realms]
    EXAMPLE.TEST = {
        kdc = 127.0.0.1:$port
    }
END
cat >"$KRB5_KDC_PROFILE" <<END
[kdcdefaults]
    kdc_listen = 127.0.0.1:$port
    kdc_tcp_listen = 127.0.0.1:$port
[realms]
    EXAMPLE.TEST = {
        database_module = database
        key_stash_file = $folder/stash
    }
[dbmodules]
    database = {
        db_library = db2
        database_name = $folder/principal
    }
END
printf 'master\nmaster\n' | kdb5_util create -s >"$folder/log" 2>&1
kadmin.local >"$folder/log" 2>&1 <<END
add_principal +requires_preauth -pw secret alice
add_principal -randkey HTTP/localhost
ktadd -norandkey -k FILE:$folder/keytab HTTP/localhost
END
krb5kdc -n >"$folder/log" 2>&1 &
kdc=$!
until kinit alice <<<secret >/dev/null 2>&1; do sleep 0.002; done
end=$EPOCHREALTIME
echo "$start $end" | awk '{ printf "%.4f\n", $2 - $1 }'
