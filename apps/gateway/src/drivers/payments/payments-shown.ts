import type { PaymentDriver } from './port.ts'

/** `test`: no money is real although others than this computer are served, and every page must say so. */
export type PaymentsShown = 'offered' | 'test' | 'none'

/**
 * What pages say of the ways to pay, before anything is asked for.
 * @param payments All of the installation.
 * @param thisComputerOnly Whether nobody but people at this computer use the gateway: those who started it know.
 */
export function paymentsShown(
  payments: readonly Pick<PaymentDriver, 'offered' | 'test'>[],
  thisComputerOnly: boolean,
): PaymentsShown {
  const offered = payments.filter(payment => payment.offered)
  if (offered.length === 0) return 'none'
  return offered.some(({ test }) => test) && !thisComputerOnly ? 'test' : 'offered'
}
