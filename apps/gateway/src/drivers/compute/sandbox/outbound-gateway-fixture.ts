import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openOrderedProcess } from './orders-fixture.ts'
import type { Order } from './outbound-fixture.ts'

export interface GatewayOptions {
  /** Its folder, and that of its computer's `resolv.conf`. */
  folder: string
  uid: number
  launcher: string
  opened: string[]
  /** A shell line that changes what it finds on its computer. */
  before?: string
}

/** Starts `outbound-fixture.ts` in a network, as a process of its own. */
export async function openGateway(
  namespace: string,
  { folder, uid, launcher, opened, before = ':' }: GatewayOptions,
) {
  const dataDir = join(folder, `${launcher}-${uid}`)
  mkdirSync(dataDir, { recursive: true })
  chownSync(dataDir, uid, uid)
  const script = join(import.meta.dirname, 'outbound-fixture.ts')
  const gateway = await openOrderedProcess<Order>({
    namespace,
    uid,
    program: [process.execPath, script, dataDir, launcher, opened.join(',')],
    before: `mount --bind ${folder}/resolv.conf /etc/resolv.conf && ${before}`,
  })
  async function exec(
    id: string,
    script: string,
  ): Promise<{ exit_code: number; stdout: string; stderr: string }> {
    return (await gateway.ask({ do: 'exec', id, argv: ['bash', '-c', script] })) as never
  }
  return {
    ...gateway,
    exec,
    async run(id: string, script: string): Promise<string> {
      const { exit_code, stdout, stderr } = await exec(id, script)
      if (exit_code !== 0) throw new Error(`exit ${exit_code} of: ${script}\n${stderr}`)
      return stdout
    },
  }
}

export type Gateway = Awaited<ReturnType<typeof openGateway>>
