import { getBillingAddress, type Invoice, listInvoices } from '@berth/contract/invoices'
import { ActionIcon } from '@mantine/core'
import { IconFileDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { searchOf } from '../../app/search.ts'
import { useSaving } from '../../receipts/use-saving.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './MonthInvoices.module.css'
import { monthAfter } from './months.ts'
import { REFRESH_MS } from './refresh-ms.ts'

/** As many as stand beside a month's days; all of them are on the page of payments. */
const SHOWN_MAX = 4

/** The documents of a month, each to be saved as PDF, and when that of its usage comes (R3.10, B23). */
export function MonthInvoices({ month, isOver }: { month: string; isOver: boolean }) {
  const { t } = useTranslation(['bills', 'invoices'])
  const format = useFormat()
  const query = useQuery({
    ...queryOf(listInvoices, { query: { month, page_size: SHOWN_MAX } }),
    refetchInterval: REFRESH_MS,
  })
  return (
    <Card title={t('invoices:title')} aside={<Link to="/payments">{t('all_invoices')}</Link>}>
      <Answer query={query} data={query.data} rows={2}>
        {({ items, total }) => (
          <>
            {items.length > 0 && <Documents items={items} />}
            {total > items.length && (
              <p className={classes.note}>{t('more_invoices', { count: total - items.length })}</p>
            )}
            {items.length === 0 && isOver && <p className={classes.note}>{t('no_invoices')}</p>}
            {!isOver && (
              <p className={classes.note}>
                {t('invoice_comes', {
                  month: format.month(month),
                  day: format.day(`${monthAfter(month)}-01`),
                })}{' '}
                <MadeOutTo />
              </p>
            )}
          </>
        )}
      </Answer>
    </Card>
  )
}

function Documents({ items }: { items: readonly Invoice[] }) {
  const { t } = useTranslation('invoices')
  const format = useFormat()
  const { saving, save } = useSaving()
  return (
    <ul className={classes.documents}>
      {items.map(({ id, number, kind, month, date, amount, currency }) => (
        <li key={id}>
          <span className={classes.words}>
            <span>
              {t(`kinds.${kind}`, { month: month === null ? '' : format.month(month.slice(0, 7)) })}
              {/* The day that is printed on it, which is one of UTC. */}
              {month === null && `, ${format.date(date.slice(0, 10))}`}
            </span>
            <span className={`${classes.number} mono`}>{number}</span>
          </span>
          <span className="tabular">{format.cents(amount, currency)}</span>
          <ActionIcon
            color="gray"
            loading={saving === id}
            aria-label={t('save_of', { number })}
            title={t('save')}
            onClick={() => save(id)}
          >
            <IconFileDownload size={16} stroke={1.6} />
          </ActionIcon>
        </li>
      ))}
    </ul>
  )
}

/** Where to say whom it is made out to, and that nobody has said it yet. */
function MadeOutTo() {
  const { t } = useTranslation(['bills', 'invoices'])
  const { data: address } = useQuery(queryOf(getBillingAddress, {}))
  if (!address) return null
  const isEmpty = address.name === '' && address.address === ''
  return (
    <>
      {isEmpty ? t('no_details') : t('made_out_to', { name: address.name || address.address.split('\n')[0] })}{' '}
      <Link to="/settings" search={searchOf({ section: 'billing' })}>
        {isEmpty ? t('add_details') : t('invoices:details')}
      </Link>
    </>
  )
}
