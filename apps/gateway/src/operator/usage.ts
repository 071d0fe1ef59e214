/** What was asked for cannot be understood. */
export class UsageError extends Error {}

/** What can be asked for. */
export const USAGE = `Usage: npm run operator -- images <what>
       npm run operator -- books check
       npm run operator -- refunds <what>
       npm run operator -- credits <what>
       npm run operator -- coupons <what>

  queue                              Images that wait for an answer, the oldest first
  show <id>                          One of them, with all that was said of it
  approve <id> --seen <mark>         The community gets it, if it is still what was shown with that mark
  reject <id> --reason <words>       It stays its customer's own, who is told why
  reports                            Images of the community that customers reported, those of the most accounts first
  show-reports <id>                  What they said of one
  close-reports <id>                 Nothing is wrong with it: what was said is forgotten
  take-down <id> --reason <words>    Takes an image off the community, by the community's id of it

  books check                        Audits all books, and names each difference; the exit status is 1 where there is one

  refunds create --payment <t_…>     Gives a payment back, as far as its money is not spent
    --amount 12.34                   Only so much of it
    --id <words>                     Names the refund: the same again refunds nothing more
  refunds list                       The newest hundred

  credits give <customer>            Gives credits in the currency of the wallet: --amount 12.34 --kind bonus
    --reason <words>                 Why, for the lists; without it: operator
    --ends 2026-12-31                The last day (UTC) on which they are there
    --id <uuid>                      Names them: the same again gives nothing more
  credits list <customer>            A customer's credits, in the order in which they are spent; a customer is an address,
                                     an account number or an account's id

  coupons create <CODE>              Makes a coupon: --amount 20 --currency USD
    --from 2026-12-01                The first day (UTC) on which it can be redeemed; without it: now
    --until 2026-12-31               The last one
    --per-customer 1                 How often one customer may redeem it; without it once
    --total 100                      How often all of them together may
    --first-topup-only               Only who has topped up once, and not again
    --min-paid 10                    Only who has paid in so much
    --credit-days 30                 For how many days its credits are there
    --models-only                    Its credits pay for models alone
  coupons list                       The newest five hundred
  coupons show <CODE>                One of them
  coupons end <CODE>                 Nobody redeems it any more; what was redeemed stays

  --json                             Answers as JSON
`

/** What was asked for is understood and cannot be done; the message is for the operator, in words. */
export class Refused extends Error {}
