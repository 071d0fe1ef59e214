import type { Config } from '../../../platform/config/config.ts'
import { servesThisComputerOnly } from '../../../platform/http/hosts.ts'

/**
 * Whether customers may pay by Stripe. With keys of Stripe's test mode anybody pays with a number that everybody
 * knows, so that strangers may only where the operator has said in plain words that no money is real, as with test
 * cards.
 * @param config The settings that decide it.
 */
export function offersStripe(config: Pick<Config, 'stripe' | 'testCards' | 'host' | 'publicUrl'>): boolean {
  if (config.stripe === null) return false
  return config.stripe.live || config.testCards === 'no-money-here-is-real' || servesThisComputerOnly(config)
}
