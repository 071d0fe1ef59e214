import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestNetworks } from '../docker/networks-fixture.ts'

/** What its computer's `resolv.conf` holds. */
export const NAME_SERVER_FILE = 'nameserver 127.0.0.53\n'

/** A name server for datagrams that knows one answer. */
const SCRIPT =
  'use Socket qw(:all);$|=1;my $a=inet_aton(shift);socket(S,AF_INET,SOCK_DGRAM,0);bind(S,pack_sockaddr_in(53,inet_aton("127.0.0.53")))or die;print".\\n";' +
  'while(my $from=recv(S,$q,512,0)){my($name)=substr($q,12)=~/^((?:[^\\0].*?)?\\0....)/s;my $four=substr($name,-4,2)eq"\\0\\1";' +
  'send(S,substr($q,0,2)."\\x81\\x80\\0\\1".($four?"\\0\\1":"\\0\\0")."\\0\\0\\0\\0".$name.($four?"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4".$a:""),0,$from)}'

/** Starts one on the engine's computer that gives one address for every name; whoever starts it ends its group. */
export async function startNameServer(
  networks: TestNetworks,
  { address }: { address: string },
): Promise<ChildProcess> {
  const inside = [`--net=/run/netns/${networks.engine}`, 'perl', '-e', SCRIPT, address]
  const server = spawn('nsenter', inside, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  await once(server.stdout, 'data')
  return server
}
