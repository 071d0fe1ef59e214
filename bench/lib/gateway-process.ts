import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { APPLICATION, login, ORGANIZATION } from '@berth/contract/account'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'
import { deployInstance, listInstances, terminateInstance } from '@berth/contract/instances'
import { Pool } from 'undici'
import { gatewayFlags } from '../../scripts/lib/gateway-build.mjs'
import { builtGateway } from '../../scripts/test/built-gateway.ts'
import { type ChildServer, startChildServer } from './child-server.ts'

/** The real gateway, as `npm start` runs it, with a fresh data folder and its demo customer signed in. */
export interface GatewayProcess {
  server: ChildServer
  origin: string
  token: string
  dataDir: string
  call<C extends Call>(call: C, input: CallInput<C>): Promise<CallData<C>>
  /** Deploys the cheapest sandbox, with more of the form where that is given, and gives its id at once. */
  deploy(part?: Partial<CallInput<typeof deployInstance>['body']>): Promise<string>
  /** Asks for the list, with short pauses of that length, until the instance is as wanted. */
  until(id: string, status: 'running' | 'gone', pauseMs?: number): Promise<void>
  terminate(id: string): Promise<void>
  stop(): Promise<void>
}

const UNTIL_MS = 60_000
const ASK_PAUSE_MS = 2

/**
 * Starts it, with all loops as in production and no limit on how often one address may call.
 * @param settings Over the usual ones.
 */
export async function startGatewayProcess(settings: Record<string, string> = {}): Promise<GatewayProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-'))
  const env = {
    BERTH_PORT: '0',
    BERTH_HOST: '127.0.0.1',
    BERTH_DATA_DIR: dataDir,
    BERTH_COMPUTE: 'sandbox',
    BERTH_RATE_LIMIT_PER_MINUTE: '0',
    BERTH_LOG_LEVEL: 'warn',
    DATABASE_URL: '',
    ...settings,
  }
  const ready = /Console +(\S+)[\s\S]*ticket=([\w-]+)/
  const server = await startChildServer(await builtGateway(), ready, env, null, gatewayFlags)
  const [, origin = '', secret = ''] = server.ready
  const pool = new Pool(origin, { connections: 4 })
  let token = ''

  const call: GatewayProcess['call'] = async (contractCall, input) => {
    const params = (input.params ?? {}) as Record<string, string>
    const path = contractCall.path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')
    const query = new URLSearchParams((input.query ?? {}) as Record<string, string>)
    const { body } = await pool.request({
      method: contractCall.method,
      path: `${GATEWAY_PREFIX}${path}?${query}`,
      headers: {
        'content-type': 'application/json',
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(contractCall.spends ? { [IDEMPOTENCY_KEY_HEADER]: crypto.randomUUID() } : {}),
      },
      body: contractCall.body ? JSON.stringify(input.body) : null,
    })
    const envelope = (await body.json()) as { status: string; msg: string; data: never }
    if (envelope.status !== 'ok') throw new Error(`${contractCall.operation}: ${envelope.msg}`)
    return envelope.data
  }
  token = await call(login, {
    body: {
      application: APPLICATION,
      organization: ORGANIZATION,
      type: 'token',
      signinMethod: 'Link',
      password: secret,
    },
  })

  async function until(id: string, status: 'running' | 'gone', pauseMs = ASK_PAUSE_MS): Promise<void> {
    const deadline = performance.now() + UNTIL_MS
    for (;;) {
      const found = (await call(listInstances, {})).find(one => one.instance_id === id)
      if ((found?.status ?? 'gone') === status) return
      if (found?.status === 'error') throw new Error(`${id} failed: ${found.reason?.detail}`)
      if (performance.now() > deadline) throw new Error(`${id} is ${found?.status}, not ${status}`)
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }

  return {
    server,
    origin,
    token,
    dataDir,
    call,
    until,
    async deploy(part) {
      const { instance_id } = await call(deployInstance, {
        body: {
          name: 'bench',
          region_code: 'us-west',
          gpu_spec_id: 'cpu',
          gpu_count: 1,
          image_id: 'berth-base',
          container_disk_gb: 20,
          ...part,
        },
      })
      return instance_id
    },
    async terminate(id) {
      await call(terminateInstance, { params: { id } })
      await until(id, 'gone')
    },
    async stop() {
      await pool.close()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
