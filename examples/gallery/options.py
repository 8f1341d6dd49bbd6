"""European calls: the price by Monte Carlo and by Black and Scholes, the Greeks by fz.grad."""

import frazil as fz


def black_scholes(market):
    s, k, r, sigma, t = (market[name] for name in ("spot", "strike", "rate", "sigma", "time"))
    d1 = (fz.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * fz.sqrt(t))
    d2 = d1 - sigma * fz.sqrt(t)
    return s * fz.special.ndtr(d1) - k * fz.exp(-r * t) * fz.special.ndtr(d2)


def simulated(market, normals):
    """The mean of discounted payoffs over draws and their mirror images."""
    s, k, r, sigma, t = (market[name] for name in ("spot", "strike", "rate", "sigma", "time"))
    draws = fz.concat([normals, -normals])
    last = s * fz.exp((r - sigma**2 / 2) * t + sigma * fz.sqrt(t) * draws)
    return fz.exp(-r * t) * fz.mean(fz.maximum(last - k, 0))


@fz.trace
def greeks(market, normals):
    """Price and derivatives, exact and simulated."""
    return fz.value_and_grad(black_scholes)(market), fz.value_and_grad(simulated)(market, normals)


def main(small=False):
    draws, strikes = (20_000, 5) if small else (1_000_000, 21)
    fz.random.seed(0)
    normals = fz.random.normal(draws, dtype=fz.float64)
    market = {"spot": 100.0, "rate": 0.03, "sigma": 0.2, "time": 1.0}
    market = {name: fz.asarray(value, dtype=fz.float64) for name, value in market.items()}
    axis = fz.linspace(80, 120, strikes, dtype=fz.float64)
    rows, worst = [], 0.0
    for strike in axis:
        (price, exact), (estimate, sampled) = greeks({**market, "strike": strike}, normals)
        error = abs(estimate / price - 1)
        worst = max(worst, error.item(), abs(sampled["spot"] - exact["spot"]).item())
        rows.append([price, estimate, exact["spot"], sampled["spot"], exact["sigma"]])
    price, estimate, delta, sampled, vega = zip(*rows, strict=True)
    curves = {"price": price, "Monte Carlo": estimate, "100 delta": delta, "vega": vega}
    curves = {name: fz.stack(curve) for name, curve in curves.items()}
    curves["100 delta"] = 100 * curves["100 delta"]
    return {
        "quality": worst,
        "of": "worst error of price and delta",
        "figure": {"x": axis, "curves": curves},
        "traced": greeks,
    }
