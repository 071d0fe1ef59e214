import type { Browser, Page } from '@playwright/test'
import { type ModelServerDouble, startModelServer } from '../apps/gateway/test/model-server.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { makeModelCatalogue } from './model-catalogue.ts'
import { isOfComputer, signUp, topUp, verifyAddress } from './walk.ts'

/** A gateway whose models one server answers, a customer with credit who is not signed in yet, and their browser. */
export interface ModelWalk {
  server: ModelServerDouble
  gateway: Gateway
  page: Page
  /** Anything that the browser complains about: a healthy console says nothing. */
  complaints: string[]
  end(): Promise<void>
}

/**
 * @param who The customer.
 * @param isExpected Complaints that the walk itself provokes; left out: none.
 * @param demos Models that Berth's own demo answers.
 */
export async function beginModelWalk(
  browser: Browser,
  who: Parameters<typeof signUp>[1],
  isExpected: (text: string) => boolean = () => false,
  demos: readonly object[] = [],
): Promise<ModelWalk> {
  const server = await startModelServer()
  const catalogue = await makeModelCatalogue(server.url, demos)
  const gateway = await startGateway({ BERTH_CATALOGUE: catalogue.file })
  await signUp(gateway, who)
  await verifyAddress(gateway, who.email)
  await topUp(gateway, who)
  const context = await browser.newContext({
    baseURL: gateway.origin,
    viewport: { width: 1_440, height: 900 },
  })
  const complaints: string[] = []
  context.on('weberror', error => complaints.push(String(error.error())))
  context.on('console', message => {
    const text = message.text()
    if (message.type() === 'error' && !isOfComputer(text) && !isExpected(text)) complaints.push(text)
  })
  return {
    ...{ server, gateway, complaints },
    page: await context.newPage(),
    async end() {
      await context.close()
      await gateway.stop()
      await server.close()
      await catalogue.remove()
    },
  }
}
