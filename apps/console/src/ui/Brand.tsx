import classes from './Brand.module.css'
import { brandOfPage } from './brand-of-page.ts'

/** The mark alone: the brand's own (R1.10), else ours, a berth seen from above. */
export function BrandMark() {
  const logo = brandOfPage()?.logo
  if (logo) {
    return (
      <>
        <img className={classes.mark} data-theme="light" src={logo.light} alt="" />
        <img className={classes.mark} data-theme="dark" src={logo.dark} alt="" />
      </>
    )
  }
  return (
    <svg className={classes.mark} viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6.5" fill="var(--accent)" />
      <path
        d="M6.5 6v7.5a4 4 0 0 0 4 4h3a4 4 0 0 0 4-4V6"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="1.9"
        strokeLinecap="round"
      />
    </svg>
  )
}

/** The mark and the name beside it. */
export function Brand({ name, large = false }: { name: string; large?: boolean }) {
  return (
    <span className={classes.brand} data-large={large || undefined}>
      <BrandMark />
      <span className={classes.name}>{name}</span>
    </span>
  )
}
