import { getOutlook, type Outlook } from '@berth/contract/outlook'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { searchOf } from '../../../app/search.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import { REFRESH_MS } from '../refresh.ts'
import classes from './UsesCard.module.css'

/** What uses the balance by the hour, by what is used most; the rows add up to their sum as they are read. */
export function UsesCard() {
  const { t } = useTranslation('payments')
  const query = useQuery({ ...queryOf(getOutlook, {}), refetchInterval: REFRESH_MS })
  return (
    <Card title={t('uses.title')}>
      <Answer query={query} data={query.data} rows={4}>
        {outlook => <Uses outlook={outlook} />}
      </Answer>
    </Card>
  )
}

function Uses({ outlook: { uses, currency } }: { outlook: Outlook }) {
  const { t } = useTranslation('payments')
  const format = useFormat()
  if (uses.length === 0) return <p className={classes.none}>{t('uses.none')}</p>
  const texts = format.rateParts(
    uses.map(use => use.rate_micro_per_hour),
    currency,
    'h',
  )
  return (
    <dl className={classes.uses}>
      {uses.map((use, index) => (
        <div key={`${use.usage} ${use.instance_id}`}>
          <dt>
            {use.instance_id === null ? (
              t(`uses.kinds.${use.usage}`, { count: use.count })
            ) : (
              <Link to="/instance" search={searchOf({ id: use.instance_id })}>
                {use.instance_name}
              </Link>
            )}
          </dt>
          <dd className="tabular">{texts.parts[index]}</dd>
        </div>
      ))}
      {uses.length > 1 && (
        <div className={classes.sum}>
          <dt>{t('uses.sum')}</dt>
          <dd className="tabular">{texts.total}</dd>
        </div>
      )}
    </dl>
  )
}
