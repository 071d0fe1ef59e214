/** `test`: others than the operator pay here, and no money is real. */
type PaymentsOfPage = 'offered' | 'test' | 'none'

/**
 * What the gateway wrote into the page of the ways to pay: it is there before anything is asked for, so that nothing
 * is offered for a moment that is not there.
 * @returns `offered` where the page comes from a development server, which knows no settings.
 */
export function paymentsOfPage(): PaymentsOfPage {
  const said = document.querySelector('meta[name="berth-payments"]')?.getAttribute('content')
  return said === 'test' || said === 'none' ? said : 'offered'
}
