import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { inTime } from '../in-time.ts'
import type { MachineWays } from '../machine-ways.ts'

/** Whether a way for datagrams leads into a machine; also where it cannot be found out at the moment. */
export async function carriesDatagrams(
  ways: Pick<MachineWays, 'udp'>,
  instanceId: string,
  port: number,
): Promise<boolean> {
  const opened = ways.udp(instanceId, port, { isProbe: true }).then(
    line => {
      line.on('error', () => undefined).destroy()
      return true
    },
    error => !(error instanceof ComputeError && error.code === 'unsupported'),
  )
  return (await inTime(opened)) ?? true
}
