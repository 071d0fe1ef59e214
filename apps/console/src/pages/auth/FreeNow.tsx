import { listGpuSpecs } from '@berth/contract/regions'
import { useTranslation } from 'react-i18next'
import { useCall } from '../../api/use-call.ts'
import { readCurrency } from '../../app/session/session-storage.ts'
import { Money } from '../../ui/Money.tsx'
import classes from './FreeNow.module.css'
import { freeSpecs } from './free-specs.ts'

const EVERY_REGION = { body: { region_codes: [] } }

/** What can be rented right now and for how much: the question that a visitor comes with. */
export function FreeNow() {
  const { t } = useTranslation('auth')
  const { data, error } = useCall(listGpuSpecs, EVERY_REGION)
  const specs = data ? freeSpecs(data) : null
  return (
    <section className={classes.panel} aria-labelledby="free-now">
      <h2 id="free-now" className={classes.title}>
        {t('free.title')}
      </h2>
      <ul className={classes.list} aria-busy={!specs && !error}>
        {specs?.map(spec => (
          <li key={spec.id} className={classes.row}>
            <span className={classes.name}>{spec.name}</span>
            <span className={classes.memory}>
              {t('free.vram', { gb: spec.gpu ? spec.vram_gb : spec.memory_gb })}
              {spec.simulated && spec.gpu && <span className={classes.simulated}>{t('free.simulated')}</span>}
            </span>
            <span className={classes.price}>
              <Money micro={spec.price_micro_per_hour} currency={readCurrency()} per="h" />
            </span>
          </li>
        ))}
        {!specs &&
          !error &&
          [0, 1, 2, 3].map(row => <li key={row} className={classes.row} aria-hidden="true" />)}
        {(error || specs?.length === 0) && (
          <li className={classes.row} data-sentence>
            {t(error ? 'free.unknown' : 'free.none')}
          </li>
        )}
        <li className={classes.note}>{t('free.note')}</li>
      </ul>
    </section>
  )
}
