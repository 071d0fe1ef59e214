import type { Config } from '../../../platform/config/config.ts'
import { servesThisComputerOnly } from '../../../platform/http/hosts.ts'

/**
 * Whether customers may top up with test cards, beside Stripe only where the operator says so. What they buy with them is real all the same, so that strangers may
 * only where the operator has said in plain words that no money is.
 * @param config The settings that decide it.
 */
export function offersTestCards(
  config: Pick<Config, 'testCards' | 'host' | 'publicUrl' | 'stripe'>,
): boolean {
  switch (config.testCards) {
    case 'auto':
      return config.stripe === null && servesThisComputerOnly(config)
    case 'off':
      return false
    case 'no-money-here-is-real':
      return true
  }
}
