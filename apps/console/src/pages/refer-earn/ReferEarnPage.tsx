import {
  confirmPaypalAccount,
  getReferral,
  type ReferralQuarter,
  type ReferralSummary,
} from '@berth/contract/referral'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { told, useChange } from '../../api/use-change.ts'
import { usePageSearch } from '../../app/search.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { Answer } from '../../ui/Answer.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { toast } from '../../ui/toast.ts'
import { HowItWorks } from './HowItWorks.tsx'
import { KEPT_FRESH } from './kept-fresh.ts'
import { LinkCard } from './LinkCard.tsx'
import { PeopleCard } from './PeopleCard.tsx'
import { QuartersCard } from './QuartersCard.tsx'
import classes from './ReferEarnPage.module.css'
import { confirmSearch } from './refer-search.ts'
import { SettlementCard } from './SettlementCard.tsx'
import { useCents } from './use-cents.ts'

/** Refer and earn (R1.6, R2.28): link first, then people; money at the right. */
export function Page() {
  return <ReferEarn />
}

/** The same, opened at the lists. */
export function ReferEarn({ atLists = false }: { atLists?: boolean }) {
  const { t } = useTranslation(['refer', 'common'])
  const query = useQuery({ ...queryOf(getReferral, {}), ...KEPT_FRESH })
  const [asked, setAsked] = useState<ReferralQuarter | null>(null)
  useConfirmation()
  return (
    <>
      <PageHeader
        title={t('common:titles.refer-earn')}
        second={query.data ? <Terms summary={query.data} /> : ' '}
      />
      <Answer query={query} data={query.data} rows={8}>
        {summary => (
          <div className={classes.layout}>
            <div className={classes.column}>
              <LinkCard summary={summary} />
              <Lists summary={summary} atLists={atLists} />
            </div>
            <div className={classes.column}>
              <SettlementCard summary={summary} asked={asked} onAsk={setAsked} />
              <QuartersCard summary={summary} onChoose={setAsked} />
              <HowItWorks summary={summary} />
            </div>
          </div>
        )}
      </Answer>
    </>
  )
}

function Terms({ summary: { currency, terms } }: { summary: ReferralSummary }) {
  const { t } = useTranslation('refer')
  const cents = useCents(currency)
  return t('terms', {
    mine: cents(terms.reward),
    theirs: cents(terms.friend_reward),
    topup: cents(terms.first_topup),
    rate: terms.rebate_rate,
  })
}

function Lists({ summary, atLists }: { summary: ReferralSummary; atLists: boolean }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (atLists) place.current?.scrollIntoView({ block: 'start' })
  }, [atLists])
  return (
    <div ref={place} className={classes.lists}>
      <PeopleCard summary={summary} />
    </div>
  )
}

/** The link of the mail to a PayPal account leads here; it is confirmed once, and taken out of the address. */
function useConfirmation(): void {
  const { t } = useTranslation('refer')
  const [{ paypal: token }, setSearch] = usePageSearch(confirmSearch)
  const { send } = useChange(confirmPaypalAccount)
  const off = useOffFor(confirmPaypalAccount)
  const taken = useRef('')
  useEffect(() => {
    if (token === '' || taken.current === token || off !== null) return
    taken.current = token
    setSearch({ paypal: '' })
    send({ body: { token } })
      .then(({ paypal_account }) => toast.good(t('paypal_confirmed', { account: paypal_account })))
      .catch(told)
  }, [token, setSearch, send, t, off])
}
