import { imageCan } from '@berth/contract/image-actions'
import type { ImageDetail } from '@berth/contract/images'
import { getPrice } from '@berth/contract/instances'
import { CONTAINER_DISK_GB_MIN, CURRENCIES, SYSTEM_DISK_FREE_GB } from '@berth/contract/limits'
import { listGpuSpecs } from '@berth/contract/regions'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { searchOf, stringifySearch } from '../../app/search.ts'
import { useSession } from '../../app/session/session.ts'
import { wayToSignIn } from '../../app/way-to-sign-in.ts'
import { fittingOffers } from '../../images/fitting-offers.ts'
import { useRegionName } from '../../images/use-region-name.ts'
import { type SpecOffer, stockLevel } from '../../offers/offers.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './MachineCard.module.css'

const specsQuery = queryOf(listGpuSpecs, { body: { region_codes: [] } })

/** On a day that it runs all of. */
const HOURS_PER_DAY = 24n

/** What the machine costs that an image would run on, and the way to deploy it. */
export function MachineCard({ image }: { image: ImageDetail }) {
  const { t } = useTranslation('images')
  const specs = useQuery(specsQuery)
  return (
    <Card>
      <Answer query={specs} data={specs.data} rows={2}>
        {known => {
          const offers = image.available ? fittingOffers(image, known) : []
          // What is to be had now comes before what is only cheaper.
          const first = offers.find(({ available }) => available > 0) ?? offers[0]
          if (!first) {
            return (
              <>
                <p className={classes.none}>{t(whyNone(image))}</p>
                <Deploy image={image} />
              </>
            )
          }
          const other = offers.find(({ id, available }) => id !== first.id && available > 0)
          return (
            <>
              <Machine image={image} offer={first} other={other} />
              <Deploy image={image} spec={first.id} />
            </>
          )
        }}
      </Answer>
    </Card>
  )
}

function whyNone({ available }: ImageDetail): 'stopper.unavailable' | 'stopper.none_fits' {
  return available ? 'stopper.none_fits' : 'stopper.unavailable'
}

interface MachineProps {
  image: ImageDetail
  offer: SpecOffer
  /** The next that it fits. */
  other: SpecOffer | undefined
}

function Machine({ image, offer, other }: MachineProps) {
  const { t } = useTranslation('images')
  const format = useFormat()
  const { user } = useSession()
  const regionName = useRegionName()
  const [place] = offer.places
  const disk = Math.max(image.min_disk_gb, CONTAINER_DISK_GB_MIN, SYSTEM_DISK_FREE_GB)
  // Disks are priced for who has a wallet.
  const quote = useQuery({
    ...queryOf(getPrice, {
      query: {
        kind: image.kind,
        region_code: place?.region_code ?? '',
        gpu_spec_id: offer.id,
        gpu_count: 1,
        container_disk_gb: disk,
      },
    }),
    enabled: user !== null && place !== undefined,
  })
  const currency = quote.data?.currency ?? CURRENCIES[0]
  const perHour = quote.data ? BigInt(quote.data.running_micro_per_hour) : offer.priceMicroPerHour
  const level = place ? stockLevel(place) : 'unknown'
  const isFree = disk <= SYSTEM_DISK_FREE_GB
  return (
    <>
      <div className={classes.head}>
        <h2 className={classes.name}>{offer.gpu ? `1× ${offer.name}` : offer.name}</h2>
        <span className={classes.stock} data-level={level}>
          {t(`machine.stock.${level}`, {
            region: place ? regionName(place.region_code) : '',
            count: place?.available ?? 0,
          })}
        </span>
      </div>
      <p className={classes.price}>
        <strong>{format.rate(perHour, currency, 'h', true)}</strong>
        {other && (
          <span className={classes.other}>
            {t('machine.other', {
              name: other.name,
              rate: format.rate(other.priceMicroPerHour, currency, 'h', true),
            })}
          </span>
        )}
      </p>
      <dl className={classes.lines}>
        <div>
          <dt>{t('machine.day_running')}</dt>
          <dd>{format.rate(perHour * HOURS_PER_DAY, currency, 'day')}</dd>
        </div>
        <div>
          <dt>{t('machine.day_stopped', { gb: disk })}</dt>
          <dd>
            {quote.data
              ? format.rate(quote.data.stopped_micro_per_day, currency, 'day', true)
              : isFree
                ? format.rate(0n, currency, 'day')
                : t('machine.disk_besides', { gb: SYSTEM_DISK_FREE_GB })}
          </dd>
        </div>
        <div>
          <dt>{t('machine.image')}</dt>
          <dd>{ownPrice()}</dd>
        </div>
      </dl>
      {offer.simulated && <p className={classes.note}>{t('machine.simulated')}</p>}
    </>
  )

  function ownPrice(): string {
    if (image.own) return format.rate(image.own.micro_per_day, image.own.currency, 'day', true)
    return t('machine.image_free', { amount: format.money(0n, currency) })
  }
}

/** Deploys the image; a guest signs in first, and comes to the form. */
function Deploy({ image: { id, available, own }, spec }: { image: ImageDetail; spec?: string }) {
  const { t } = useTranslation('images')
  const { user } = useSession()
  if (!available) return null
  // One's own that is still made, or was not, cannot be started from.
  if (own && !imageCan('deploy', own.status))
    return <p className={classes.none}>{t(`own.off.${own.status}`)}</p>
  // The form begins with the machine whose price is in sight.
  const search = { image_id: id, ...(spec !== undefined && { spec }) }
  return (
    <>
      {user ? (
        <Button component={Link} to="/explore" search={searchOf(search)} size="md" fullWidth>
          {t('machine.deploy')}
        </Button>
      ) : (
        <Button
          component="a"
          href={wayToSignIn('login', `/explore${stringifySearch(search)}`)}
          size="md"
          fullWidth
        >
          {t('machine.log_in')}
        </Button>
      )}
      <p className={classes.note}>{t('machine.note')}</p>
    </>
  )
}
