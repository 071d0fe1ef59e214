import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { type SpecOffer, stockLevel } from '../../offers/offers.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { type Column, RowTable, TwoLines } from '../../ui/RowTable.tsx'
import classes from './OfferTable.module.css'
import { SimulatedMark } from './SimulatedMark.tsx'
import type { OffersProps } from './SpecCards.tsx'
import { StockWords } from './StockWords.tsx'
import { useTermPrices } from './use-term-prices.ts'

/** The same offers, so that figures can be compared down a column (R3.3). */
export function OfferTable({ offers, regions, chosen, currency, onChoose }: OffersProps) {
  const { t } = useTranslation(['explore', 'offers'])
  const format = useFormat()
  const terms = useTermPrices(currency)
  const columns = useMemo(
    (): readonly Column<SpecOffer>[] => [
      {
        key: 'name',
        header: t('specs'),
        narrow: 'name',
        cell: offer => (
          <label className={classes.name}>
            <input
              type="radio"
              name="gpu_spec"
              value={offer.id}
              checked={offer.id === chosen}
              onChange={() => onChoose(offer.id)}
            />
            <span>
              {offer.name}
              {offer.simulated && <SimulatedMark />}
            </span>
          </label>
        ),
      },
      {
        key: 'vram',
        header: t('offers:columns.vram'),
        narrow: null,
        width: '8rem',
        align: 'end',
        cell: ({ gpu, vramGb }) => (gpu ? `${vramGb} GB` : t('offers:no_vram')),
      },
      {
        key: 'cpu',
        header: t('offers:columns.cpu'),
        narrow: null,
        width: '9rem',
        align: 'end',
        cell: ({ vcpu }) => `${vcpu} vCPU`,
      },
      {
        key: 'ram',
        header: t('offers:columns.ram'),
        narrow: null,
        width: '8rem',
        align: 'end',
        cell: ({ memoryGb }) => `${memoryGb} GB`,
      },
      {
        key: 'stock',
        header: t('offers:columns.stock'),
        narrow: 'under',
        width: '20rem',
        cell: ({ places }) => <Places places={places} regions={regions} />,
      },
      {
        key: 'price',
        header: t('offers:columns.price'),
        narrow: 'end',
        width: '19rem',
        align: 'end',
        cell: offer => (
          <TwoLines
            strong
            first={format.rate(offer.priceMicroPerHour, currency, 'h')}
            second={terms(offer)}
          />
        ),
      },
    ],
    [t, format, terms, regions, chosen, currency, onChoose],
  )
  return (
    <div className={classes.table}>
      <Card padding="none">
        <RowTable label={t('specs')} columns={columns} rows={offers} keyOf={({ id }) => id} />
      </Card>
    </div>
  )
}

/** What each region has. */
function Places({ places, regions }: Pick<SpecOffer, 'places'> & Pick<OffersProps, 'regions'>) {
  return (
    <ul className={classes.places}>
      {places.map(place => (
        <li key={place.region_code}>
          <span>{regions.find(({ code }) => code === place.region_code)?.name ?? place.region_code}</span>
          <StockWords level={stockLevel(place)} count={place.available} />
        </li>
      ))}
    </ul>
  )
}
